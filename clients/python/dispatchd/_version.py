"""_version.py -- the version of the package, which is that of the daemon."""

VERSION = "0.1.0"
