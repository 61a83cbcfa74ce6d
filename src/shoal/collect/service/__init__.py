"""The user-centric protocol as a service: a collector and an authority over HTTP, and the device that takes part.

``wire``, ``rounds``, ``post`` and ``journey`` take bytes, time and randomness as arguments, too; sockets and clocks are in the rest.
"""
