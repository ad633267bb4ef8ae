# nvitop in a container, for hosts with the NVIDIA Container Toolkit:
#
#   docker build --tag nvitop .
#   docker run --interactive --tty --rm --gpus=all --pid=host nvitop
#
# --pid=host      The driver tells PIDs of the host. Without this option a container does not see the
#                 processes that they belong to, and the columns of each are N/A.
# --user=root     Only root may read the environment of other users' processes and send them signals.
#                 By default nvitop runs as a user without any rights, which shows all the rest.
# --volume=/etc/passwd:/etc/passwd:ro
#                 Shows the names of the host's users instead of their numbers.
#
# The base can be any image of Debian or Ubuntu with Python 3.8 or newer in it or in its packages:
#
#   docker build --build-arg basetag=3.12-slim .
#   docker build --build-arg baseimage=ubuntu --build-arg basetag=24.04 .
ARG baseimage=python
ARG basetag=3.13-slim

# hadolint ignore=DL3006
FROM ${baseimage}:${basetag} AS base
ARG DEBIAN_FRONTEND=noninteractive
# Which release of Python that is, the base says.
# hadolint ignore=DL3008
RUN if ! python3 -c 'import ensurepip, venv'; then \
        apt-get update && \
        apt-get install --yes --no-install-recommends python3 python3-venv && \
        rm -rf /var/lib/apt/lists/*; \
    fi

FROM base AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE COPYING ./
COPY share share
COPY nvitop nvitop
RUN python3 -m venv /opt/nvitop && /opt/nvitop/bin/pip install --no-cache-dir .

FROM base
LABEL org.opencontainers.image.title="nvitop" \
      org.opencontainers.image.description="An interactive NVIDIA GPU process viewer" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-only"
# What the container toolkit brings in: NVML and nvidia-smi are "utility", CUDA is "compute".
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    LANG=C.UTF-8 \
    TERM=xterm-256color \
    PYTHONDONTWRITEBYTECODE=1 \
    PATH=/opt/nvitop/bin:${PATH}
RUN useradd --create-home --uid 10001 nvitop
COPY --from=build /opt/nvitop /opt/nvitop
# Seen from here the driver and all options work, before anybody runs the image.
RUN nvitop --no-config --demo --once >/dev/null
USER 10001
WORKDIR /home/nvitop
ENTRYPOINT ["nvitop"]
