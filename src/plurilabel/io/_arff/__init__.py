"""ARFF, the file format of WEKA, MULAN and MEKA."""
