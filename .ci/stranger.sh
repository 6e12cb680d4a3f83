#!/usr/bin/env bash
# The README's two commands as a stranger runs them: in a clone of HEAD with nothing beside it (no recorded data), an empty HOME and
# none of this user's environment.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
server=
# The server and all that it started: its process group.
end() { [ -z "$server" ] || kill -TERM -- "-$server" 2>/dev/null || true; }
trap 'end; rm -rf "$place"' EXIT
git clone --quiet "file://$source" "$place/project"
mkdir "$place/home"
# The interpreter itself: a version manager's wrapper looks for its files in HOME.
python=$(python3 -c 'import os, sys; print(os.path.dirname(os.path.realpath(sys.executable)))')
stranger=(env -i HOME="$place/home" PATH="$python:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" LANG=C.UTF-8 CI="${CI:-true}")
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("localhost", 0)); print(s.getsockname()[1])')
cd "$place/project"

echo "A stranger's make run"
set -m
"${stranger[@]}" make run PORT="$port" >"$place/run.log" 2>&1 &
server=$!
set +m
# Downloads of a minute or two come first; then the page lists the demo's runs.
if ! timeout 600 "$python/python3" - "$port" "$server" <<'PYTHON'; then
import json, os, sys, time, urllib.request

port, server = sys.argv[1:]
address = f"http://localhost:{port}/data/plugin/npu_profiler/api/catalog"
while True:
    os.kill(int(server), 0)  # make is still there
    try:
        catalog = json.load(urllib.request.urlopen(address, timeout=10))
    except OSError:
        catalog = {"runs": []}
    if catalog["runs"]:
        print("runs:", ", ".join(run["label"] for run in catalog["runs"]))
        break
    time.sleep(1)
PYTHON
  cat "$place/run.log"
  exit 1
fi
end
server=

echo "A stranger's make test"
"${stranger[@]}" make test
