"""The explorer: one HTML page that shows a program as Python, IR, adjoint and C side by side.

    identity    which node of one stage comes from which node of another
    tables      files, places, cells, and what many lines share
    lines       the lines of the stages
    stages      a program at all of its stages
    running     what a run measures
    data        all of it as one JSON object
    structure   stages that a command shows one after the other, as that object
    page        the HTML file
    explore     make the page of a function or Cell
"""
