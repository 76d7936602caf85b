# Sourced by ops/up and ops/test: makes .venv and installs this checkout into it, once per pyproject.toml.

# Prints the first Python that is new enough; REPOFOLD_PYTHON names another.
find_python() {
  local candidate
  for candidate in ${REPOFOLD_PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    if command -v "$candidate" >/dev/null 2>&1 && new_enough "$candidate"; then
      command -v "$candidate"
      return 0
    fi
  done
  echo "error: Python 3.11 or newer is needed" >&2
  echo "  next: install it, or name it: REPOFOLD_PYTHON=/path/to/python3.12 bash $0" >&2
  return 1
}

new_enough() {
  "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# ensure_venv ROOT KIND    KIND is "run" or "dev", with the development extras
ensure_venv() {
  local root=$1 kind=$2 venv=$1/.venv target=$1 python
  if new_enough "$venv/bin/python" && [[ $(cat "$venv/checkout" 2>/dev/null) == "$root" ]]; then
    cmp -s "$root/pyproject.toml" "$venv/installed-$kind" && return 0
    echo "bringing $venv up to date" >&2
  else
    # Missing, of another Python, or of a checkout that was moved: scripts in it name the old place.
    python=$(find_python)
    echo "installing into $venv, once; this takes a minute or two" >&2
    if ! "$python" -m venv --clear "$venv" >&2; then
      echo "error: $python cannot make a virtual environment" >&2
      echo "  next: install its venv module (Debian, Ubuntu: apt install python3-venv), or set REPOFOLD_PYTHON" >&2
      return 1
    fi
    "$venv/bin/python" -m pip install --quiet --upgrade pip >&2
  fi
  rm -f "$venv/installed-run" "$venv/installed-dev"
  [[ $kind == run ]] || target="$root[$kind]"
  if ! "$venv/bin/python" -m pip install --quiet --editable "$target" >&2; then
    echo "error: the packages could not be installed" >&2
    echo "  next: see pip's words above; it needs the package index, or a mirror (PIP_INDEX_URL)" >&2
    return 1
  fi
  printf '%s' "$root" >"$venv/checkout"
  cp "$root/pyproject.toml" "$venv/installed-$kind"
  # The development extras include everything that running needs.
  [[ $kind == run ]] || cp "$root/pyproject.toml" "$venv/installed-run"
}
