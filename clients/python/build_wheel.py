"""build_wheel.py -- what pip calls to build the package (PEP 517), so that it needs no setuptools, no wheel and no
network: the package is Python alone, and a wheel is an archive with three more files."""

import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
SUMMARY = "Tensors, gradients, programs and plugins of a dispatchd daemon"


def version():
    with open(os.path.join(HERE, "dispatchd", "_version.py"), encoding="utf-8") as f:
        return re.search(r'VERSION = "(.*)"', f.read())[1]


def metadata():
    return (f"Metadata-Version: 2.1\nName: dispatchd\nVersion: {version()}\nSummary: {SUMMARY}\nLicense: MIT\n"
            "Requires-Python: >=3.11\nProvides-Extra: numpy\nRequires-Dist: numpy; extra == 'numpy'\n")


def sources():
    """Yield (path in the wheel, path) of every file of the package."""
    for folder, below, names in os.walk(os.path.join(HERE, "dispatchd")):
        below[:] = sorted(b for b in below if b != "__pycache__")
        for name in sorted(names):
            if name.endswith((".py", ".pyi", "py.typed")):
                path = os.path.join(folder, name)
                yield os.path.relpath(path, HERE), path


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Write the wheel into the directory and return its name."""
    name = f"dispatchd-{version()}-py3-none-any.whl"
    info = f"dispatchd-{version()}.dist-info"
    record = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        def put(path, data):
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))  # the same sources give the same bytes
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(data)}\n")
        for path, source in sources():
            with open(source, "rb") as f:
                put(path, f.read())
        put(f"{info}/METADATA", metadata().encode())
        put(f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: dispatchd\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "".join(record) + f"{info}/RECORD,,\n")
    return name
