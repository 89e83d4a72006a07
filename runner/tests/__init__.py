# SPDX-License-Identifier: GPL-2.0
"""The runner's own tests: fakes instead of kernels."""
