"""The report page of a fit: plain data first (collect), then pictures (figures), then one HTML file (page).

`displays` are the pictures of `UDE.plot_*`, `notebook` what a notebook shows, `environment` the settings of templates.
Nothing here computes a model: all comes from a fitted UDE's public surface.
"""
