"""The host file: values with their place, errors in one line, one module a role."""
