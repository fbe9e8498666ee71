"""Label distributions: degrees of all labels that sum to one."""
