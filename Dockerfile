# The command `stateous` for compose.yaml. It runs as a user of its own, in a folder that is the user's.
FROM python:3.13-slim
COPY pyproject.toml README.md LICENSE /src/
COPY stateous /src/stateous
COPY supervisor /src/supervisor
COPY sql /src/sql
COPY migrations /src/migrations
RUN pip install --no-cache-dir /src \
    && useradd --uid 1000 --create-home stateous \
    && install --directory --owner=stateous /project
USER stateous
WORKDIR /project
