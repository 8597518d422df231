# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the commands in scripts/: goes to the root of the repository, installs the Debian
# packages that are missing, and offers `build`. Asks nothing; does nothing where nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export LC_ALL=C.UTF-8

say() { printf '== %s\n' "$*"; }
die() { printf 'fuseplan: %s\n' "$*" >&2; exit 1; }

# Compilers and ccache keep files under HOME; containers and CI may have none.
if [ ! -w "${HOME:-/nonexistent}" ]; then
  mkdir -p build/home
  export HOME="$PWD/build/home"
fi

missing_packages() {
  local package _
  while read -r package _; do
    case "$package" in '' | '#'*) continue ;; esac
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      printf '%s\n' "$package"
  done < scripts/lib/packages.txt
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    sudo -n "$@"
  fi
}

apt_install() {
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" < /dev/null
}

install_packages() {
  local missing
  if ! command -v dpkg-query apt-get > /dev/null; then
    say "no apt-get here; on with what there is. Needed are the equivalents of: $(package_names)"
    return
  fi
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} = 0 ] && return
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2> /dev/null; then
    die "these Debian packages are missing, and only root can install them:
  apt-get install --no-install-recommends ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  mkdir -p build
  # Package lists that are there usually do; where they are absent or old, fetch them and try again.
  apt_install "${missing[@]}" > build/apt.log 2>&1 && return
  as_root apt-get update -qq < /dev/null >> build/apt.log 2>&1 &&
    apt_install "${missing[@]}" >> build/apt.log 2>&1 && return
  tail -n 20 build/apt.log >&2
  die "installing the packages failed; the whole output is in build/apt.log"
}

package_names() { awk '!/^#/ && NF { printf "%s ", $1 }' scripts/lib/packages.txt; }

# build <preset> [<target>...]: configures once, then compiles what changed.
build() {
  local preset=$1 target
  local -a targets=()
  shift
  for target; do targets+=(--target "$target"); done
  say "building $preset"
  cmake --preset "$preset" > "build/configure-$preset.log" 2>&1 || {
    cat "build/configure-$preset.log" >&2
    die "configuring the preset $preset failed"
  }
  cmake --build --preset "$preset" --parallel "$(nproc)" "${targets[@]}"
}

install_packages
mkdir -p build
