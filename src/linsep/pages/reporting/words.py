"""The fixed texts and the style sheet of a report."""

VERDICTS = {
    "separable": "Two sets of points are <b>linearly separable</b> if some plane has all points of one set on one side "
    "and all points of the other set on the other side, none on the plane. With more than two classes, each class has "
    "a weight vector, and the true class of every row must score strictly highest. linsep proved this for these rows.",
    "quasi": "No plane separates these rows strictly, but some plane has no row on the wrong side, and not all rows on "
    "it. Statisticians call this <b>quasi-complete separation</b>: logistic regression has no maximum likelihood "
    "estimate.",
    "overlap": "Every plane has rows on the wrong side, or all rows on it. A few rows that contradict each other "
    "prove it. On such rows the perceptron makes mistakes forever.",
    "not-separable": "No plane separates these rows strictly: some of them contradict each other. The time was too "
    "short to decide whether a plane has every row on its side or on the plane itself.",
    "unknown": "The search for a plane, or for rows that contradict each other, ran out of time.",
}

SEVERAL = VERDICTS | {  # of more than two classes
    "quasi": "No weights score the true class of every row strictly highest, but some never score another class higher "
    "than the true one, and on some rows it is strictly highest. Statisticians call this <b>quasi-complete "
    "separation</b>: multinomial regression has no maximum likelihood estimate.",
    "overlap": "Whatever the weights, another class scores higher on some row, or all scores are equal on every row. A "
    "few rows that contradict each other prove it. On such rows the perceptron makes mistakes forever.",
    "not-separable": "No weights score the true class of every row strictly highest: some rows contradict each other. "
    "The time was too short to decide whether some weights never score another class higher.",
}

TERMS = [
    ("plane", "The points x with w·x + b = 0. It has two sides; w points to the positive one."),
    ("weights w, offset b", "A run learns them: w is the direction across the plane, b moves it off the origin."),
    ("score", "s(x) = w·x + b. Its sign says on which side a row is, |s(x)|/‖w‖ how far from the plane."),
    ("mistake", "In training, a visit to a row that is on the wrong side or on the plane. Each mistake is one update."),
    ("training error", "A row that is on the wrong side when training has ended. Not the same as a mistake."),
    ("pass", "One visit to every row."),
    ("loss", "Σ max(0, −y s(x)): the sum of the scores of wrong rows, without their signs."),
    ("radius R", "The length of the longest row."),
    ("margin γ", "The distance from a plane to its nearest row. The largest margin is that of the best plane."),
    (
        "origin, affine, augmented",
        "Three margins: of planes through the origin; of any plane; and of planes through the origin for the points "
        "(x, 1), which the theorem is about if the perceptron learns an offset.",
    ),
    ("support rows", "The rows that determine the plane of largest margin; for a run, the rows with mistakes."),
    (
        "refutation",
        "Rows with positive multipliers for which the weighted sums of both classes are the same point, and with an "
        "offset the sums of the multipliers are the same, too. No plane separates such rows.",
    ),
    (
        "compression bound",
        "If a run depends only on s of n rows and all n are right, the other n − s rows bound its error on new rows.",
    ),
    (
        "margin bound",
        "The farther the rows lie from the plane, the fewer errors on new rows, whatever the number of features.",
    ),
    ("Clopper-Pearson interval", "The exact interval for the error, from the number of held-out rows predicted wrong."),
    ("vacuous", "A bound of 1 or more: every error is at most 1, so it says nothing."),
]

CSS = """
:root{--paper:#fff;--ink:#1f2328;--soft:#59636e;--line:#d9dee3;--card:#f6f8fa;--yes:#00704f;--no:#b34700;--maybe:#7a5c00}
@media (prefers-color-scheme:dark){:root{--paper:#15181d;--ink:#e8e8e8;--soft:#a3acb6;--line:#343a42;--card:#1d2127;
--yes:#2fbf94;--no:#ff9a4d;--maybe:#e6c229}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{max-width:48rem;margin:0 auto;padding:1rem 1rem 3rem}
h1{font-size:1.7rem;line-height:1.2;margin:1rem 0;overflow-wrap:anywhere}
h2{font-size:1.25rem;margin:2.4rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h3{font-size:1.02rem;margin:1.4rem 0 .2rem}
p{margin:.6rem 0}
ul{margin:0;padding-left:1.1rem}
.student{color:var(--soft)}
.verdict{font-size:1.2rem;font-weight:650;padding:.8rem 1rem;border-radius:.5rem;background:var(--card);
border-left:.4rem solid var(--maybe)}
.verdict.separable{border-color:var(--yes)}.verdict.overlap,.verdict.not-separable{border-color:var(--no)}
dl{margin:.8rem 0}
dl>div{display:grid;grid-template-columns:11rem 1fr;gap:.2rem 1rem;padding:.3rem 0;border-bottom:1px solid var(--line)}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
dl.terms dt{color:var(--ink);font-weight:600;margin-top:.6rem}dl.terms dd{color:var(--soft)}
@media (max-width:34rem){dl>div{grid-template-columns:1fr}}
.wide{overflow-x:auto;margin:.8rem 0}.wide th{white-space:nowrap}
@media (min-width:50rem){.wide{width:fit-content;min-width:100%;max-width:calc(50vw + 21rem)}}
table{border-collapse:collapse;font-size:.88rem;min-width:100%}
th,td{text-align:left;vertical-align:top;padding:.35rem .7rem .35rem 0;border-bottom:1px solid var(--line)}
td{font-variant-numeric:tabular-nums}
th{color:var(--soft);font-weight:600}
figure{margin:1.2rem 0;padding:.6rem;background:#fff;border:1px solid var(--line);border-radius:.5rem}
figure img{display:block;width:100%;max-width:34rem;height:auto;margin:0 auto}
figcaption{color:#59636e;font-size:.9rem;padding:.4rem .3rem 0}
@media screen and (prefers-color-scheme:dark){figure{background:#141414}figcaption{color:var(--soft)}
figure img{filter:invert(.92) hue-rotate(180deg)}}
@media (max-width:34rem){figure{margin:1.2rem -1rem;padding:.4rem 0;border-width:1px 0;border-radius:0}
figcaption{padding:.4rem 1rem 0}}
code{font-size:.9em;overflow-wrap:anywhere}
button{font:inherit;font-weight:600;color:inherit;background:var(--card);border:1px solid var(--soft);
border-radius:.5rem;padding:.45rem 1rem;cursor:pointer}button:disabled{opacity:.5}
.check-drop{display:block;margin:.8rem 0;padding:1rem;border:2px dashed var(--line);border-radius:.5rem}
.check-drop.over{border-color:var(--yes)}.check-drop input{display:block;margin-top:.5rem;max-width:100%}
.check-steps{padding-left:1.3rem}.check-steps li{margin:.5rem 0;overflow-wrap:anywhere}
.check-verdict{font-weight:650;padding:.7rem 1rem;border-radius:.5rem;background:var(--card);
border-left:.4rem solid var(--maybe)}
.check-verdict[data-holds=true]{border-color:var(--yes)}.check-verdict[data-holds=false]{border-color:var(--no)}
a{color:inherit}
footer{margin-top:3rem;color:var(--soft);font-size:.85rem;border-top:1px solid var(--line)}
@media print{.check{display:none}body{font-size:11pt}figure,tr{break-inside:avoid}}
"""
