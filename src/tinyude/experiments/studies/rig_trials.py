"""More plants for the simulated rigs: rules were set on `TUNING`; `BLIND` are for reporting only."""

from __future__ import annotations

from tinyude.experiments.studies.rig_plants import Plant, steps, waves

SURE = (0.001, 0.03)  # noise of the signals' spread, from and to

TUNING: dict[str, Plant] = {
    "cart-pole": Plant(  # positions sensed; friction of cart and joint is forgotten
        ("x", "q", "v", "w"),
        ("v", "w",
         "(u - 0.6*v + 0.2*sin(q)*(0.5*w**2 + g*cos(q)) + 0.04*w*cos(q))/(M + 0.2*sin(q)**2)",
         "(-(u - 0.6*v)*cos(q) - 0.1*w**2*cos(q)*sin(q) - (M + 0.2)*g*sin(q) - 0.1*w)/(0.5*(M + 0.2*sin(q)**2))"),
        ("v", "w",
         "(u + 0.2*sin(q)*(0.5*w**2 + g*cos(q)))/(M + 0.2*sin(q)**2)",
         "(-u*cos(q) - 0.1*w**2*cos(q)*sin(q) - (M + 0.2)*g*sin(q))/(0.5*(M + 0.2*sin(q)**2))"),
        {"M": 1.0, "g": 9.81}, (0.0, 0.6, 0.0, 0.0), 0.01, 30.0, waves(0.5, 3.0), ("x", "q"),
        ("v", "w", "0.2*sin(q)*(0.5*w**2 + g*cos(q))/(M + 0.2*sin(q)**2)",
         "(-0.1*w**2*cos(q)*sin(q) - (M + 0.2)*g*sin(q))/(0.5*(M + 0.2*sin(q)**2))"),
        ("v", "w", "(-u + 0.2*sin(q)*(0.5*w**2 + g*cos(q)))/(M + 0.2*sin(q)**2)",
         "(u*cos(q) - 0.1*w**2*cos(q)*sin(q) - (M + 0.2)*g*sin(q))/(0.5*(M + 0.2*sin(q)**2))"),
        ("q",), ("x",), "M", (0.0005, 0.005),
    ),
    "ladder": Plant(  # three RC stages; the leak of the last is forgotten
        ("a", "b", "c"), ("(u - 2*a + b)/RC", "(a - 2*b + c)/RC", "(b - c - 0.4*c)/RC"),
        ("(u - 2*a + b)/RC", "(a - 2*b + c)/RC", "(b - c)/RC"), {"RC": 0.1}, (0.0, 0.0, 0.0), 0.01, 30.0,
        steps(0.5, 5.0), None, ("(-2*a + b)/RC", "(a - 2*b + c)/RC", "(b - c)/RC"),
        ("(u - 2*a + b)/RC", "(a + 2*b + c)/RC", "(b - c)/RC"), noise=SURE,
    ),
    "gear": Plant(  # a geared motor by its speed alone: current in, friction forgotten
        ("w",), ("(K*u - 0.01*w - 0.12*tanh(3*w))/J",), ("K*u/J",), {"K": 0.3, "J": 0.02}, (0.0,), 0.005, 25.0,
        steps(0.4, 3.0), None, ("0",), ("-K*u/J",), noise=SURE,
    ),
    "dry spring": Plant(  # Coulomb friction in a spring: both states sensed
        ("x", "v"), ("v", "(u - k*x - 0.8*tanh(50*v))/m"), ("v", "(u - k*x)/m"), {"k": 40.0, "m": 0.8}, (0.1, 0.0),
        0.002, 16.0, waves(0.8, 6.0), None, ("v", "-k*x/m"), ("v", "(-u - k*x)/m"), (), ("x", "v"), "m",
        (0.001, 0.01),
    ),
    "exchanger": Plant(  # a stream of flow u heated by a jacket; losses to the room are forgotten
        ("T", "J"), ("(u*(15 - T) + h*(J - T))/C", "(6*(80 - J) - h*(J - T) - 1.5*(J - 20))/C"),
        ("(u*(15 - T) + h*(J - T))/C", "(6*(80 - J) - h*(J - T))/C"), {"h": 3.0, "C": 40.0}, (20.0, 60.0), 0.5, 1200.0,
        steps(30.0, 3.0, 4.0), None, ("h*(J - T)/C", "(6*(80 - J) - h*(J - T))/C"),
        ("(u*(15 - T) - h*(J - T))/C", "(6*(80 - J) - h*(J - T))/C"), noise=SURE,
    ),
    "buck": Plant(  # averaged buck converter, duty in; diode drop and coil resistance are forgotten
        ("i", "v"), ("(Vin*u - v - 0.15*i - 0.7*(1 - u))/La", "(i - v/Rl)/Cap"), ("(Vin*u - v)/La", "(i - v/Rl)/Cap"),
        {"Vin": 24.0, "La": 2e-4, "Rl": 4.0, "Cap": 2e-4}, (1.0, 8.0), 1e-5, 0.06, steps(0.003, 0.25, 0.5), None,
        ("-v/La", "(i - v/Rl)/Cap"), ("(Vin*u + v)/La", "(i - v/Rl)/Cap"), noise=SURE,
    ),
    "crane": Plant(  # a load under a trolley whose acceleration is u; air drag is forgotten
        ("q", "w"), ("w", "-(g/L)*sin(q) - u*cos(q)/L - 0.15*w - 0.05*w*sqrt(w**2 + 0.0001)"),
        ("w", "-(g/L)*sin(q) - u*cos(q)/L"), {"g": 9.81, "L": 2.0}, (0.1, 0.0), 0.02, 80.0, steps(1.2, 1.5), ("q",),
        ("w", "-(g/L)*sin(q)"), ("w", "-(g/L)*sin(q) + u*cos(q)/L"), ("q",), noise=(0.0005, 0.01),
    ),
    "battery": Plant(  # temperature of a cell under a current u: heating by its square, cooling to 25 degrees
        ("T",), ("(R*u**2 - 0.35*(T - 25) - 0.002*(T - 25)**2)/C",), ("(R*u**2 - 0.35*(T - 25))/C",),
        {"R": 0.02, "C": 45.0}, (25.0,), 1.0, 3000.0, steps(60.0, 15.0, 15.0), None, ("-0.35*(T - 25)/C",),
        ("(-R*u**2 - 0.35*(T - 25))/C",), noise=SURE,
    ),
    "rivals": Plant(  # two species that compete; the second's effect on the first is forgotten
        ("n", "p"), ("a*n*(1 - n) - 0.5*n*p + u", "b*p*(1 - p) - 0.3*n*p"),
        ("a*n*(1 - n) + u", "b*p*(1 - p) - 0.3*n*p"),
        {"a": 1.0, "b": 0.8}, (0.2, 0.6), 0.1, 120.0, steps(5.0, 0.1, 0.1), None,
        ("a*n*(1 - n)", "b*p*(1 - p) - 0.3*n*p"), ("a*n*(1 - n) + u", "b*p*(1 - p) + 0.3*n*p"), noise=SURE,
    ),
}  # fmt: skip

BLIND: dict[str, Plant] = {
    "tank pair": Plant(  # one tank drains into the other; both outflows are known, a leak is not
        ("a", "b"), ("(u - 0.1*sqrt(a))/A", "(0.1*sqrt(a) - 0.08*sqrt(b) - 0.01*b)/A"),
        ("(u - 0.1*sqrt(a))/A", "(0.1*sqrt(a) - 0.08*sqrt(b))/A"), {"A": 0.4}, (0.6, 0.5), 0.5, 900.0,
        steps(40.0, 0.04, 0.08), None, ("-0.1*sqrt(a)/A", "(0.1*sqrt(a) - 0.08*sqrt(b))/A"),
        ("(u + 0.1*sqrt(a))/A", "(0.1*sqrt(a) - 0.08*sqrt(b))/A"), (), ("a", "b"), noise=SURE,
    ),
    "boat": Plant(  # surge of a boat under thrust: quadratic drag is forgotten, its speed sensed
        ("v",), ("(u - 30*v - 55*v*sqrt(v**2 + 0.0001))/m",), ("(u - 30*v)/m",), {"m": 180.0}, (0.5,), 0.1, 300.0,
        steps(8.0, 200.0, 150.0), None, ("-30*v/m",), ("(-u - 30*v)/m",), mass="m", noise=SURE,
    ),
    "ball and beam": Plant(  # the beam's angle u rolls a ball; rolling friction is forgotten
        ("r", "v"), ("v", "-c*9.81*sin(u) - 0.2*v - 0.05*tanh(30*v)"), ("v", "-c*9.81*sin(u)"), {"c": 0.714},
        (0.0, 0.0), 0.01, 40.0, waves(0.5, 0.12), ("r",), ("v", "0"), ("v", "c*9.81*sin(u)"), (), ("r",),
        noise=(0.0005, 0.01),
    ),
    "satellite": Plant(  # rigid body rates, torque about the first axis; drag of the rates is forgotten
        ("p", "q", "r"),
        ("(u + (Jb - Jc)*q*r - 0.05*p)/Ja", "((Jc - Ja)*r*p - 0.04*q)/Jb", "((Ja - Jb)*p*q - 0.06*r)/Jc"),
        ("(u + (Jb - Jc)*q*r)/Ja", "(Jc - Ja)*r*p/Jb", "(Ja - Jb)*p*q/Jc"), {"Ja": 1.0, "Jb": 1.6, "Jc": 2.1},
        (0.4, 1.0, 0.5), 0.05, 60.0, waves(0.15, 0.5), None,
        ("(Jb - Jc)*q*r/Ja", "(Jc - Ja)*r*p/Jb", "(Ja - Jb)*p*q/Jc"),
        ("(u - (Jb - Jc)*q*r)/Ja", "(Jc - Ja)*r*p/Jb", "(Ja - Jb)*p*q/Jc"), ("p", "q", "r"), noise=SURE,
    ),
    "cylinder": Plant(  # hydraulic: flow u into a chamber that pushes a mass against a spring; leakage is forgotten
        ("x", "v", "p"), ("v", "(4*p - k*x - 6*v)/m", "8*(u - 4*v - 0.05*p)"),
        ("v", "(4*p - k*x - 6*v)/m", "8*(u - 4*v)"),
        {"k": 50.0, "m": 2.0}, (0.0, 0.0, 0.0), 0.005, 25.0, waves(0.6, 1.0), None,
        ("v", "(4*p - k*x - 6*v)/m", "-32*v"),
        ("v", "(4*p - k*x - 6*v)/m", "8*(u + 4*v)"), (), ("x", "v"), "m", SURE,
    ),
    "coil": Plant(  # series RLC whose coil saturates: a larger rate of current at higher current
        ("i", "v"), ("(u - R*i - v)*(1 + 0.3*i**2)/La", "i/Cap"), ("(u - R*i - v)/La", "i/Cap"),
        {"R": 1.5, "La": 0.01, "Cap": 1e-3}, (0.0, 0.0), 2e-4, 1.5, waves(30.0, 6.0), None, ("(-R*i - v)/La", "i/Cap"),
        ("(-u - R*i - v)/La", "i/Cap"), noise=SURE,
    ),
    "shaft": Plant(  # a drive, a soft shaft and a load: motor and load speeds and twist; friction is forgotten
        ("a", "w", "z"), ("w - z", "(u - k*a - 0.3*(w - z))/Jm", "(k*a + 0.3*(w - z) - 0.4*z)/Jl"),
        ("w - z", "(u - k*a - 0.3*(w - z))/Jm", "(k*a + 0.3*(w - z))/Jl"), {"k": 60.0, "Jm": 0.2, "Jl": 0.5},
        (0.0, 0.0, 0.0), 0.004, 24.0, steps(0.7, 6.0), None,
        ("w - z", "(-k*a - 0.3*(w - z))/Jm", "(k*a + 0.3*(w - z))/Jl"),
        ("w - z", "(u + k*a - 0.3*(w - z))/Jm", "(k*a + 0.3*(w - z))/Jl"), noise=SURE,
    ),
    "isomers": Plant(  # chemical: A to B to C and A + A to D; the last reaction is forgotten
        ("a", "b"), ("u*(5 - a) - k1*a - 0.17*a**2", "-u*b + k1*a - k2*b"), ("u*(5 - a) - k1*a", "-u*b + k1*a - k2*b"),
        {"k1": 0.83, "k2": 1.6}, (2.0, 1.0), 0.05, 80.0, steps(3.0, 0.6, 0.9), None, ("-k1*a", "k1*a - k2*b"),
        ("u*(5 - a) + k1*a", "-u*b + k1*a - k2*b"), noise=SURE,
    ),
    "gantry": Plant(  # a belt-driven stage by its position alone; viscous and dry friction are forgotten
        ("x", "v"), ("v", "(u - 14*v - 5*tanh(100*v))/m"), ("v", "u/m"), {"m": 3.0}, (0.0, 0.0), 0.002, 14.0,
        steps(0.25, 40.0), ("x",), ("v", "0"), ("v", "-u/m"), (), ("x",), "m", (0.00002, 0.0005),
    ),
}  # fmt: skip
