#!/bin/sh
# ensure_programs.sh PYTHON: other programs, for the tests of tests/programs: msprof-analyze and the plugin that ours
# replaces, which read Ascend profiles, MindSpore and mindformers, which are profiled. Each gets an environment of its own beside
# the packages of PYTHON (what they need is none of our business), made once. Where one cannot be had, say so: its tests then skip
# with the reason.
set -u
MSPROF_ANALYZE=${MSPROF_ANALYZE:-msprof-analyze==26.2.0}
OLD_PLUGIN=${OLD_PLUGIN:-torch-tb-profiler-ascend==0.4.0.11}
MINDSPORE=${MINDSPORE:-mindspore==2.10.0}
MINDFORMERS=${MINDFORMERS:-mindformers==2.1.0}
PREFIX=$("$1" -c 'import sys; print(sys.prefix)')
TENSORBOARD=$("$1" -c 'from importlib.metadata import version; print("tensorboard==" + version("tensorboard"))')

# ensure FOLDER REQUIREMENT...; BARE: a package that is installed without what it requires
ensure() {
  folder=$PREFIX/$1
  shift
  [ -e "$folder/installed" ] && return
  echo "installing ${BARE:-$1} for the tests with it"
  if "$PREFIX/bin/python" -m venv --clear "$folder" >/dev/null 2>&1 &&
    timeout 240 "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
      "$@" >/dev/null 2>&1 &&
    { [ -z "${BARE:-}" ] || "$folder/bin/python" -m pip install --quiet --no-deps "$BARE" >/dev/null 2>&1; }; then
    touch "$folder/installed"
  else
    rm -rf "$folder"
    echo "$1 cannot be installed here: the tests with it will be skipped"
  fi
}

# with numpy 2, MindSpore's own code fails; the others are what capture/ imports
ensure program-mindspore "$MINDSPORE" "numpy<2" "scipy<1.16" click msgspec rich
# mindformers asks for a newer MindSpore, and packages for numpy 2: its callbacks run with these, and with ours
BARE=$MINDFORMERS
ensure program-mindformers "numpy<2" "pyarrow==18.1.0" "datasets==3.6.0" "opencv-python-headless<4.11" transformers tokenizers \
  mindpet==1.0.4 tiktoken tensorboardX sentencepiece ftfy regex tqdm pyyaml jieba rouge_chinese jinja2 setproctitle deprecated
BARE=
ensure program-msprof-analyze "$MSPROF_ANALYZE"
ensure program-old-plugin "$OLD_PLUGIN" "$TENSORBOARD"
