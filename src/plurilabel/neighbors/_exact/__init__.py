"""How :class:`ExactIndex` finds the true neighbours quickly.

``distance`` has the one formula that decides. ``engines`` propose candidates: by ``products`` of
matrices whose errors ``rounding`` bounds, by a k-d tree or by brute force. ``certify`` turns
candidates into the true neighbours, and ``threads`` shares the work.
"""
