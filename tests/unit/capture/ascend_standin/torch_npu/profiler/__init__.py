import os

if os.environ.get("STANDIN_BROKEN"):
    raise OSError("libhccl.so: cannot open shared object file")


def __getattr__(name):
    """An object for each name, but those that an older release does not have."""
    if name.startswith(("__", "missing")) or (name == "HostSystem" and os.environ.get("STANDIN_OLD")):
        raise AttributeError(name)
    return globals().setdefault(name, type(name, (), {"__module__": __name__}))
