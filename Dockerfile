# nvitop in a container, for hosts with the NVIDIA Container Toolkit:
#
#   docker build --tag nvitop .
#   docker run --interactive --tty --rm --gpus=all --pid=host nvitop
#
# --pid=host      The driver reports the host's PIDs. Without this option the container does not see
#                 those processes, and their user, CPU, memory and command are N/A.
# --user=root     Lets nvitop signal other users' processes and show their environments. The default
#                 user has no privileges; everything else works without them.
# --volume=/etc/passwd:/etc/passwd:ro
#                 Shows the host's user names instead of numbers.
#
# The base image can be any Debian or Ubuntu image that has, or can install, Python 3.8 or newer:
#
#   docker build --build-arg basetag=3.12-slim .
#   docker build --build-arg baseimage=ubuntu --build-arg basetag=24.04 .
ARG baseimage=python
ARG basetag=3.13-slim

# hadolint ignore=DL3006
FROM ${baseimage}:${basetag} AS base
ARG DEBIAN_FRONTEND=noninteractive
# The base image determines the Python release.
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
      org.opencontainers.image.description="Interactive NVIDIA GPU process viewer" \
      org.opencontainers.image.licenses="Apache-2.0 AND GPL-3.0-only"
# Driver libraries to mount: "utility" is NVML and nvidia-smi, "compute" is CUDA.
ENV NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility \
    LANG=C.UTF-8 \
    TERM=xterm-256color \
    PYTHONDONTWRITEBYTECODE=1 \
    PATH=/opt/nvitop/bin:${PATH}
RUN useradd --create-home --uid 10001 nvitop
COPY --from=build /opt/nvitop /opt/nvitop
# Fail the build if nvitop does not run.
RUN nvitop --no-config --demo --once >/dev/null
USER 10001
WORKDIR /home/nvitop
ENTRYPOINT ["nvitop"]
