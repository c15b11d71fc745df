#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# Shows what the program does, on this machine, from a fresh build: the walk of docs/tutorial.md, a killed training, a snapshot.
# Argument: the build folder. Needs no terminal and no GPU; leaves nothing behind but demo.html in the build folder.
set -euo pipefail
build=$(cd "${1:?usage: tools/demo.sh BUILD_FOLDER}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
python=/usr/bin/python3
[ -x "$python" ] || python=python3
export PATH="$build:$PATH"
export OMP_NUM_THREADS=1 # models as small as these are slower on several cores

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
work=$temp/demo
mkdir "$work"
cp "$root/tools/demo_train.py" "$work/train.py"
cp "$root/tests/data/h200/s5_oom.pickle.gz" "$work/snapshot.pickle.gz"
cd "$work"

say() {
    printf '\n== %s\n' "$*" | fold -s -w 80 | sed 's/ *$//'
}

# Prints the command as a person would type it, then runs it.
show() {
    printf '\n$ %s\n' "$*"
    bash -c "${*//python3 /$python }" 2>&1
}

# The walk writes its files beside its scripts: a copy of them, in a tree like this one.
walk() {
    mkdir "$temp/examples"
    cp -r "$root/examples/tutorial" "$temp/examples/"
    ln -s "$root/tests" "$temp/tests"
    (cd "$temp/examples/tutorial" && PYTHONPATH=$build/python PYTHON=$python bash run_all.sh 2>&1) |
        sed "s|$temp/examples/||g; s|$python|python3|g"
}

if "$python" -c 'import torch' 2>/dev/null; then
    if [ -d "$build/python/stormlog" ]; then
        say "The walk of docs/tutorial.md (examples/tutorial): clean run, leak, evidence, analysis, out of memory, fix, comparison."
        walk
    else
        say "(without the Python package, which needs python3-dev, there is no walk)"
    fi

    say "A training that leaks is recorded, without a change to it. After 200 steps it is killed by SIGKILL, as by the kernel" \
        "when memory runs out."
    show "stormlog run -- python3 train.py" || true

    say "Nothing that was recorded is lost. What grew, on which line, and what to do:"
    show "stormlog analyze"

    say "What was recorded so far, and the file checked:"
    show "stormlog runs"
    show "stormlog fsck latest | sed '/^region/,/^$/d'"

    say "A page to look at and to send to somebody: one file, opens offline."
    show "stormlog report -o demo.html"
    mv demo.html "$build/demo.html"
    printf '(now %s)\n' "$build/demo.html"
else
    say "($python has no torch here, so there is nothing to record; on Debian: apt install python3-torch)"
fi

say "A memory snapshot that PyTorch itself wrote on an H200: why did this training run out of memory? Nothing in the pickle is" \
    "executed."
show "stormlog analyze snapshot.pickle.gz | sed '/^2[.]/,\$d'"

say "The same for a script or CI: exit code 1 when there is a leak."
show "stormlog check snapshot.pickle.gz --no-leak; echo \"exit code \$?\""

say "Next: stormlog --help, README.md. Tests: make test."
