# syntax=docker/dockerfile:1
# Muster with its console: packages by their hashes, nobody's root, and a health check.
#   docker build -t muster .
#   docker run -p 127.0.0.1:8080:8080 -v muster:/data -e OIDC_ISSUER_URI=https://… -e OIDC_AUDIENCE=muster muster
ARG PYTHON=3.13-slim-bookworm
ARG NODE=22-bookworm-slim

FROM node:${NODE} AS node

FROM python:${PYTHON} AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends make \
 && rm -rf /var/lib/apt/lists/*
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
 && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
WORKDIR /src
COPY . .
RUN make wheel
RUN python -m venv --without-pip /opt/muster \
 && .venv/bin/uv pip install --python /opt/muster/bin/python --compile-bytecode \
      --require-hashes --only-binary :all: -r requirements/runtime.txt \
 && .venv/bin/uv pip install --python /opt/muster/bin/python --compile-bytecode \
      --no-deps --no-index dist/*.whl

FROM python:${PYTHON}
RUN useradd --system --uid 10001 --user-group --home-dir /data --create-home muster
COPY --from=build /opt/muster /opt/muster
ENV PATH=/opt/muster/bin:$PATH \
    MUSTER_HOST=0.0.0.0 \
    MUSTER_DATA_DIR=/data
WORKDIR /data
VOLUME /data
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ.get('MUSTER_PORT', '8080') + '/health/ready', timeout=4)"]
ENTRYPOINT ["muster"]
CMD ["serve"]
