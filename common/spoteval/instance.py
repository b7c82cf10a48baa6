"""Names of instances: they become files, keys and words in every line."""


def instance_error(name: str) -> str | None:
    """Why `name` is no instance name, or None."""
    plain = name.isascii() and all(char.isalnum() or char in "-_" for char in name)
    if plain and 0 < len(name) <= 64 and name[0].isalnum():
        return None
    return f'"{name}": an instance name is 1 to 64 of a-z A-Z 0-9 - _ and begins with a letter or digit'
