#!/bin/sh
# Builds the example as anybody would and looks for its leaks.
set -eu
leakline=$(realpath "$1")
cd "$(dirname "$0")/../.."
mkdir -p build/demo
gcc -g -O2 -o build/demo/inventory examples/inventory/inventory.c
echo '$ leakline run --lens loss -- build/demo/inventory'
code=0
"$leakline" run --lens loss -- build/demo/inventory || code=$?
if [ "$code" -ne 23 ]; then
    echo "The demo expected exit code 23 (leaks found), not $code." >&2
    exit 1
fi
