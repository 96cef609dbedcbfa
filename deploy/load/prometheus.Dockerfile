# Debian's Prometheus on the base that the worker's image has, so that the load test needs no further image.
FROM python:3.11-slim
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends prometheus \
 && rm -rf /var/lib/apt/lists/*
USER prometheus
WORKDIR /tmp
EXPOSE 9090
ENTRYPOINT ["prometheus", "--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/tmp/data"]
