print("evaluated as", __name__)
