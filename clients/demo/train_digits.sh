#!/bin/sh
# train_digits.sh -- trains the network of digits.json on hand-written digits with dispatchctl alone, and prints
# the loss of each batch: train_digits.sh [BATCHES].  The daemon runs with --data-path tests/data.
set -eu
program=$(dirname "$0")/digits.json
DISPATCHD_SESSION=$(dispatchctl session) # handles belong to a session: all commands below share one
export DISPATCHD_SESSION
trap 'dispatchctl tensor release --all >/dev/null' EXIT
load() { # print NAME={"tensor":HANDLE} for each tensor of file $1 whose name begins with $2
    dispatchctl load "$1" --prefix "$2" | awk 'NR > 1 { print $1 "={\"tensor\":" $2 "}" }'
}
keep() { # call an operator and print its result, which stays in the daemon, as an argument of the next call
    dispatchctl call "$@" --keep | awk '{ print "{\"tensor\":" $2 "}" }'
}
images=$(load digits.safetensors images) # bytes from 0 to 16; the network takes numbers from 0 to 1
images=$(keep aten::div.Scalar "$(keep aten::_to_copy "${images#*=}" dtype=float64)" 16)
inputs="images=$images $(load digits.safetensors labels) $(load digits_training.safetensors batches)"
for weight in $(load digits_training.safetensors init. | sed s/init.//); do
    inputs="$inputs $weight"
    case $weight in *.running_*) continue ;; esac # a buffer of batch_norm, which is not trained
    inputs="$inputs ${weight%%=*}.momentum=$(keep aten::zeros_like "${weight#*=}")"
    keep aten::requires_grad_ "${weight#*=}" >/dev/null
done
for k in $(seq 0 $((${1:-66} - 1))); do dispatchctl program run "$program" $inputs k="$k" | tail -n 1; done
