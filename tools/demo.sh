#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Shows what the program does, on this machine, from a fresh build. Argument: the build folder. Needs no terminal and no GPU;
# leaves nothing behind but demo.html in the build folder.
set -euo pipefail
build=$(cd "${1:?usage: tools/demo.sh BUILD_FOLDER}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
python=/usr/bin/python3
[ -x "$python" ] || python=python3
export PATH="$build:$PATH"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"

say() {
    printf '\n%s\n' "$*" | fold -s -w 80 | sed 's/ *$//'
}

# Prints the command as a person would type it, then runs it. $work is shown as the folder "demo-run".
show() {
    printf '\n$ %s\n' "${*//$work/demo-run}"
    bash -c "$*" 2>&1 | sed "s|$work|demo-run|g"
}

say "1. A training run that leaks is recorded from outside, without a change to its code, and then dies by SIGKILL, as" \
    "under the kernel's OOM killer."
if "$python" -c 'import torch' 2>/dev/null; then
    show "stormlog run -o $work/run -- $python tools/demo_train.py" || true
    file=$(ls "$work"/run/*.slog)

    say "2. The recording was written through a mapped file: what was published before the kill is there, and fsck proves it."
    show "stormlog fsck $file"
    show "stormlog cat $file | tail -n 3"

    say "3. It also says what happened, and on which line."
    show "stormlog analyze $work/run"
else
    say "   ($python has no torch here, so there is nothing to record; on Debian: apt install python3-torch)"
fi

say "4. The snapshot of a real training on an H200, made by PyTorch itself. Nothing in the pickle is executed."
show "stormlog analyze tests/data/h200/s1_loss_history.pickle.gz"

say "5. The same answer for a script: exit code 1 when there is a leak."
show "stormlog analyze tests/data/h200/s1_loss_history.pickle.gz --fail-on leak > $work/report.txt; echo \"exit code \$?\""

say "6. The page of it, to look at and to send to somebody: one file, opens offline."
page=$build/demo.html
input=$work/run
[ -d "$input" ] || input=tests/data/h200/s1_loss_history.pickle.gz
show "stormlog report $input -o $page"

say "More: stormlog --help, README.md. Tests: make test."
