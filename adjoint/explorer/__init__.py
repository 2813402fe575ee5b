"""The explorer: one HTML page that shows a program as Python, IR, adjoint and C side by side.

    explore     make the page of a function or Cell
    stages      a program at all of its stages
    identity    which node of one stage comes from which node of another
    lines       the lines of the stages
    tables      files, places, cells, and what many lines share
    running     what a run measures
    data        all of it as one JSON object
    page        the HTML file; its style and scripts are in web/
"""
