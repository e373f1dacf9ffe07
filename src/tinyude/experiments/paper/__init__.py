"""The paper's tables and figures, one experiment a module, beside what the paper states.

`accounting` counts bytes and operations as the paper does; `targets` are derivative targets of a whole record.
"""
