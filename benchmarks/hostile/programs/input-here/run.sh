python train.py <<DATA
1 2
2 4.1
3 6.2
DATA
