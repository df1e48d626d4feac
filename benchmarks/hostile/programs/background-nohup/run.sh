#!/bin/sh
nohup setsid python train.py > train.log 2>&1 < /dev/null &
echo started
