"""The textbook, in plain Python: what the compiled code is compared with."""


def dot(x, w):
    return sum(p * q for p, q in zip(x, w, strict=True))


def perceptron(X, y, *, eta=1, offset=True, order="cyclic", passes=1000, w=None, b=0, margin=0):
    """Return w, b and the trace of a binary perceptron on lists of numbers."""
    w, trace = list(w or [0] * len(X[0])), []

    def value(i):
        return y[i] * (dot(X[i], w) + b)

    for _ in range(passes):
        before = len(trace)
        looks = range(len(X)) if order != "worst" else [min(range(len(X)), key=value)]
        for i in looks:
            if value(i) <= margin:
                w = [wj + eta * y[i] * xj for wj, xj in zip(w, X[i], strict=True)]
                b += eta * y[i] * offset
                trace.append(i)
                if order == "first":
                    break
        if len(trace) == before:
            break
    return w, b, trace


def argmax(X, y, classes, *, offset=True, passes=1000):
    """Return the weights, offsets and trace of the many-class perceptron; y are class numbers."""
    W, b, trace = [[0] * len(X[0]) for _ in range(classes)], [0] * classes, []
    for _ in range(passes):
        before = len(trace)
        for i, x in enumerate(X):
            s = [dot(x, W[c]) + b[c] for c in range(classes)]
            rival = max((c for c in range(classes) if c != y[i]), key=lambda c: (s[c], -c))
            if s[y[i]] <= s[rival]:
                for c, sign in ((y[i], 1), (rival, -1)):
                    W[c] = [wj + sign * xj for wj, xj in zip(W[c], x, strict=True)]
                    b[c] += sign * offset
                trace.append(i)
        if len(trace) == before:
            break
    return W, b, trace
