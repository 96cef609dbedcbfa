"""What is wrong with a topic, in words that help."""

from plangate.shell.settings import Settings
from plangate.shell.topics import Found, faults, wanted_topics
from plangate.wire.topics import INPUT, TOPICS

SETTINGS = Settings(topic_prefix="team.")


def found(partitions: int = 4, **settings: str) -> Found:
    return Found(partitions, {name.replace("_", "."): value for name, value in settings.items()})


def all_faults(name: str, topic: Found | None) -> list[str]:
    [wanted] = [topic for topic in wanted_topics(SETTINGS, 4) if topic.name == name]
    return faults(wanted, topic)


def test_all_topics_of_the_contract_and_the_changelog() -> None:
    names = {topic.name for topic in wanted_topics(SETTINGS, 4)}
    assert names == {f"team.{name}" for name in TOPICS} | {SETTINGS.changelog_topic}
    assert SETTINGS.changelog_topic == "team.plangate-windows-changelog"


def test_records_of_the_largest_size_fit_everywhere() -> None:
    for topic in wanted_topics(SETTINGS, 4):
        assert int(topic.only_created["max.message.bytes"]) > 8 * 1024 * 1024


def test_three_replicas_want_two_in_sync() -> None:
    for replicas, wanted in ((1, None), (3, "2")):
        for topic in wanted_topics(Settings(replication_factor=replicas), 4):
            assert topic.only_created.get("min.insync.replicas") == wanted


def test_a_good_topic_has_no_faults() -> None:
    assert all_faults(f"team.{INPUT}", found(cleanup_policy="delete", compression_type="uncompressed")) == []
    assert all_faults("team.plan-decisions", found(partitions=1, cleanup_policy="delete")) == []
    assert all_faults(SETTINGS.changelog_topic, found(cleanup_policy="compact")) == []


def test_faults_say_what_is_and_what_must_be() -> None:
    assert all_faults(f"team.{INPUT}", found(cleanup_policy="compact", compression_type="producer")) == [
        "team.window-events: cleanup.policy is compact, must be delete",
        "team.window-events: compression.type is producer, must be uncompressed",
    ]
    assert all_faults(SETTINGS.changelog_topic, found(3, cleanup_policy="compact,delete")) == [
        "team.plangate-windows-changelog: 3 partitions, must be 4 like the input topic",
        "team.plangate-windows-changelog: cleanup.policy is compact,delete, must be compact",
    ]
    assert all_faults("team.window-status", found(cleanup_policy="delete")) == [
        "team.window-status: cleanup.policy is delete, must be compact"
    ]
    assert all_faults("team.dead-letters", None) == [
        "team.dead-letters: missing, or not shown to this user; create_topics is off"
    ]
