def show(name, value):
    print(f'{name} {value:.6f}')
