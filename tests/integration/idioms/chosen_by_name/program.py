"""The class that trains is chosen by the default of an option."""

# expect loss = loss (\S+)$

import argparse

import recipes

parser = argparse.ArgumentParser()
parser.add_argument('--recipe', default='Plain')
getattr(recipes, parser.parse_args().recipe)().fit()
