#!/usr/bin/env bash
# Deploys the shop.
set -euo pipefail

source ./lib/common.sh
. "$SHOP_HOME/env.sh"
source "$UNKNOWN"

export SHOP_NAME="shop" OTHER
readonly LIMIT=50
declare -rx MODE=fast
declare -a ITEMS=(a b)
counter=1

# Greets somebody.
greet() {
  local who="$1" rest
  declare inner=3
  echo "hi $who ${SHOP_NAME:-none} $inner" | filter -q hi && run "lit" "$(stamp +%s)"
  counter=$((counter + 1))
  return 0
}

function deploy {
  greet world
  if [[ -n "$SHOP_NAME" ]]; then exit 1; fi
}

function both() ( cd x; make all )

for item in "${ITEMS[@]}"; do greet "$item"; done
case "$1" in
  deploy) deploy ;;
  *) usage ;;
esac
cat <<EOF
hello $MODE
EOF
trap cleanup EXIT
SHOP_NAME=other greet "$@" > "$LOG" 2>&1
