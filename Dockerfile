# A model as a service: docker run -p 8000:8000 -v "$PWD/models:/models" plurilabel /models/MODEL.skops
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m venv /opt/plurilabel \
    && /opt/plurilabel/bin/pip install --no-cache-dir '.[serve]'

FROM python:3.12-slim
# corrections are kept beside the model: a folder that is mounted must be writable for user 1000
RUN useradd --create-home --uid 1000 serve && install --directory --owner serve /models
COPY --from=build /opt/plurilabel /opt/plurilabel
USER serve
WORKDIR /models
EXPOSE 8000
# a token is made and printed unless PLURILABEL_TOKEN is set
HEALTHCHECK CMD ["/opt/plurilabel/bin/python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["/opt/plurilabel/bin/plurilabel", "serve", "--host", "0.0.0.0"]
