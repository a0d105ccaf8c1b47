"""Separation in regression by double description: the cone's lines and rays in Python integers, nothing of ours.

``C = {g : z·g >= 0 for inequalities, z·g = 0 for equations}`` is built up one row at a time (Motzkin, Raiffa, Thompson
& Thrall 1953). Then every answer is read off: by duality ``c`` is in the cone of the rows if and only if ``c·g >= 0``
on all of ``C``, that is on its rays, and ``= 0`` on its lines.
"""

from math import gcd


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def primitive(v):
    divisor = 0
    for value in v:
        divisor = gcd(divisor, value)
    return tuple(value // divisor for value in v) if divisor else tuple(v)


def lines_and_rays(rows, equal, width):
    """Return generators of the cone; ``rows`` are integers, ``equal`` says which are equations."""
    lines = [tuple(int(i == j) for j in range(width)) for i in range(width)]
    rays = []
    for k, (z, is_equation) in enumerate(zip(rows, equal, strict=True)):
        pivot = next((line for line in lines if dot(z, line)), None)
        if pivot is not None:
            lines.remove(pivot)
            if dot(z, pivot) < 0:
                pivot = tuple(-value for value in pivot)
            height = dot(z, pivot)

            def onto(v, z=z, pivot=pivot, height=height):
                return primitive([height * a - dot(z, v) * b for a, b in zip(v, pivot, strict=True)])

            lines = [onto(line) for line in lines]
            rays = [onto(ray) for ray in rays]
            if not is_equation:
                rays.append(pivot)
            continue
        up, on, down = ([ray for ray in rays if (dot(z, ray) > 0) - (dot(z, ray) < 0) == side] for side in (1, 0, -1))
        new = {}
        for a in up:
            for b in down:
                ray = primitive([dot(z, a) * y - dot(z, b) * x for x, y in zip(a, b, strict=True)])
                new[ray] = None
        rays = list(dict.fromkeys([*([] if is_equation else up), *on, *new]))
        if len(rays) > 12:  # only those that no two others lie beside
            active = {ray: frozenset(i for i in range(k + 1) if dot(rows[i], ray) == 0) for ray in rays}
            rays = [ray for ray in rays if not any(active[ray] < active[other] for other in rays)]
    return lines, rays


def answers(rows, equal, width, functions):
    """Return which rows are separated, the dimension, and the status of every function of the coefficients."""
    lines, rays = lines_and_rays(rows, equal, width)
    separated = [any(dot(z, ray) > 0 for ray in rays) for z in rows]
    statuses = []
    for c in functions:
        sides = {(dot(c, ray) > 0) - (dot(c, ray) < 0) for ray in rays} - {0}
        if any(dot(c, line) for line in lines):
            statuses.append("aliased")
        else:
            statuses.append({(): "finite", (1,): "+inf", (-1,): "-inf"}.get(tuple(sides), "undetermined"))
    return separated, statuses
