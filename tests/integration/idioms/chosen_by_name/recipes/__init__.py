from .plain import *
