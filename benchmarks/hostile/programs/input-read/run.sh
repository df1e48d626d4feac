# Asks as an installer does; here the answers come from a file.
read -r -p "Learning rate: " rate
read -r -p "Epochs: " epochs
exec python train.py --rate "${rate:-0.1}" --epochs "${epochs:-2}"
