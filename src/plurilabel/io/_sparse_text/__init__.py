"""Lines of ``labels index:value ...``: the XMC and LIBSVM formats."""
