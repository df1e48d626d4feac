python train.py > train.log 2>&1 &
pid=$!
trap 'kill $pid' TERM
wait $pid
echo "ended with $?"
