"""Settings: where they come from, what is refused, and that the docs have the same table."""

from pathlib import Path

import pytest

from plangate.shell.settings import Settings, SettingsError, load_settings, settings_table, unknown_variables

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_defaults() -> None:
    assert load_settings({}) == Settings()


def test_environment_wins_over_file(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('broker = "file:1"\nbatch_size = 7\ncreate_topics = false\nstall_seconds = 90\n')
    settings = load_settings({"PLANGATE_BROKER": "environment:1", "PLANGATE_SSL_CHECK_HOSTNAME": "no"}, file)
    assert (settings.broker, settings.batch_size, settings.create_topics) == ("environment:1", 7, False)
    assert (settings.stall_seconds, settings.ssl_check_hostname) == (90, False)


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"PLANGATE_BATCH_SIZE": "zeta"}, "batch_size must be a whole number"),
        ({"PLANGATE_BATCH_SIZE": "0"}, "batch_size must be from 1 to 100000"),
        ({"PLANGATE_CREATE_TOPICS": "zeta"}, "create_topics must be true or false"),
        ({"PLANGATE_GUARANTEE": "zeta"}, "guarantee must be one of transactions, acknowledgements"),
        ({"PLANGATE_STALL_SECONDS": "nan"}, "stall_seconds must be from 5 to 3600"),
        ({"PLANGATE_TOPIC_PREFIX": "zeta"}, "topic_prefix must be empty or end in a dot"),
        ({"PLANGATE_HEARTBEAT_SECONDS": "9"}, "heartbeat_seconds must be at most half"),
        ({"PLANGATE_SASL_PASSWORD_FILE": "/zeta"}, "the file of sasl_password_file can't be read"),
    ],
)
def test_refused_without_repeating_the_value(environment: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError, match=says) as caught:
        load_settings(environment)
    assert "zeta" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("batch_sise = 7", "unknown setting in the file: batch_sise"),
        ('batch_size = "7"', "batch_size must be a whole number"),
        ("batch_size = true", "batch_size must be a whole number"),
        ("broker = 7", "broker must be text"),
        ("zeta", "the settings file is no TOML"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=says):
        load_settings({}, file)


def test_secrets_come_from_files(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text(" word \n")
    assert load_settings({"PLANGATE_SASL_PASSWORD_FILE": str(file)}).sasl_password == "word"
    with pytest.raises(SettingsError, match="both given"):
        load_settings({"PLANGATE_SASL_PASSWORD_FILE": str(file), "PLANGATE_SASL_PASSWORD": "other"})


def test_secrets_are_in_no_repr() -> None:
    assert "zeta" not in repr(Settings(sasl_password="zeta", redaction_key="zeta"))


def test_misspelt_variables_are_told() -> None:
    assert unknown_variables({"PLANGATE_BROKERS": "x", "PLANGATE_BROKER": "x", "PATH": "x"}) == ["PLANGATE_BROKERS"]


def test_docs_have_the_table() -> None:
    assert settings_table() in DOCS.read_text(), "make it anew: python -m plangate.shell.settings"
