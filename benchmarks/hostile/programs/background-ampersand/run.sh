python train.py > train.log 2>&1 &
echo "training started"
