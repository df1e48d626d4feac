def export(loss, name):
    if loss < 1: raise ValueError(f"{name}: loss {loss:.3f} is " + "too small to export")
    print(f"exported {name} with loss {loss:.3f}")
    return name
