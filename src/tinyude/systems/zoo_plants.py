"""The plants of the zoo: ordinary and chaotic, from mechanics to climate."""
# ruff: noqa: E501  (a table: one plant a row)

from __future__ import annotations

from tinyude.systems.zoo import Plant

PLANTS: tuple[Plant, ...] = (
    # mechanics and robotics
    Plant("spring, cubic stiffening", "mechanics", "x v", ("v", "-4*x - 0.2*v"), {"v": "-1.5*x**3"}, ((1.6, 0.0), (-0.7, 1.0)), 0.01, 2000),
    Plant("spring, quadratic drag", "mechanics", "x v", ("v", "-9*x"), {"v": "-0.3*v*abs(v)"}, ((1.5, 0.0),), 0.005, 3000),
    Plant("mass on a magnet", "mechanics", "x v", ("v", "-3*x - 0.1*v"), {"v": "0.5/(1.2 + x)**2"}, ((0.9, 0.0), (-0.4, 0.6)), 0.01, 2500, inside=False),
    Plant("pendulum with dry friction", "mechanics", "theta omega", ("omega", "-9.81*sin(theta)"), {"omega": "-0.4*tanh(8*omega)"}, ((2.2, 0.0), (-1.5, 1.0)), 0.002, 4000),
    Plant("pendulum, drag by position", "mechanics", "theta omega", ("omega", "-9.81*sin(theta)"), {"omega": "-0.3*omega*(1 + cos(2*theta))"}, ((2.0, 0.0), (0.0, 5.0), (-1.0, -3.0)), 0.002, 4000, inside=False),
    Plant("rotating shaft, cogging", "mechanics", "theta omega", ("omega", "2.0 - 0.5*omega - 3*sin(theta)"), {"omega": "-0.8*sin(5*theta)"}, ((0.0, 6.0), (1.0, 2.0)), 0.002, 5000),
    Plant("double well", "mechanics", "x v", ("v", "x - 0.15*v"), {"v": "-x**3"}, ((1.9, 0.0), (0.1, 0.9)), 0.01, 3000),
    Plant("driven cart, Stribeck", "robotics", "x v", ("v", "-2*x + 2*u"), {"v": "-(0.3 + 0.4*exp(-(v/0.2)**2))*tanh(20*v) - 0.2*v"}, ((0.0, 0.0),), 0.002, 8000, wave="tones"),
    Plant("servo with dead zone", "robotics", "p w", ("w", "-3*p - 0.8*w"), {"w": "2*u*u*u/(0.15 + u*u)"}, ((0.3, 0.0),), 0.005, 6000, wave="tones", inside=False),
    Plant("robot arm, gravity in the load", "robotics", "q w", ("w", "4*u - 1.2*w"), {"w": "-3.5*cos(q)"}, ((0.1, 0.0),), 0.005, 5000, wave="steps"),
    Plant("two masses, soft coupling", "mechanics", "a b va vb", ("va", "vb", "-2*a + (b - a)", "-3*b + (a - b)"), {"va": "0.6*(b - a)**3", "vb": "-0.6*(b - a)**3"}, ((1.5, -0.5, 0.0, 0.4),), 0.01, 4000),
    Plant("bead on a turning hoop", "mechanics", "q w", ("w", "-9.0*sin(q) - 0.3*w"), {"w": "7.0*sin(q)*cos(q)"}, ((2.4, 0.0), (0.3, 2.5)), 0.004, 3000, inside=False),
    Plant("glider, phugoid", "robotics", "s g", ("-sin(g)", "(s*s - cos(g))/s"), {"s": "-0.12*s*s"}, ((1.4, 0.2), (0.8, -0.5)), 0.01, 2000),
    Plant("ship roll", "mechanics", "r v", ("v", "-1.1*r - 0.06*v"), {"v": "0.5*r**3 - 0.09*v*abs(v)"}, ((0.9, 0.0), (-0.6, 0.5)), 0.02, 3000),
    # electronics
    Plant("van der Pol", "electronics", "x v", ("v", "-x + 1.5*v"), {"v": "-1.5*x**2*v"}, ((0.5, 0.0), (2.6, 1.0)), 0.01, 3000),
    Plant("diode clipper", "electronics", "v", ("4*(u - v)",), {"v": "-0.2*sinh(2.5*v)"}, ((0.0,),), 0.005, 6000, wave="tones", inside=False),
    Plant("FitzHugh-Nagumo", "electronics", "v w", ("v - w + 0.5", "0.08*(v + 0.7 - 0.8*w)"), {"v": "-v**3/3"}, ((-1.0, 1.0), (1.5, -0.4)), 0.05, 3000),
    Plant("buck converter load", "electronics", "i c", ("5*u - 3*c", "2*i"), {"c": "-1.4*c/(0.4 + c*c)"}, ((1.0, 1.0),), 0.004, 5000, wave="flow", inside=False),
    Plant("tunnel diode", "electronics", "v i", ("2*i", "0.4*(1.2 - v - 1.5*i)"), {"v": "-2*(17.8*v - 103.8*v**2 + 229.6*v**3)*0.1"}, ((0.1, 0.5), (0.5, 0.2)), 0.01, 3000),
    Plant("saturating inductor", "electronics", "i v", ("2*(u - v)", "1.5*i - 0.5*v"), {"i": "1.2*tanh(2*i)"}, ((0.0, 0.1),), 0.005, 6000, wave="steps", inside=False),
    # chemistry
    Plant("Brusselator", "chemistry", "x y", ("1 - 4*x", "3*x"), {"x": "x**2*y", "y": "-x**2*y"}, ((1.0, 1.0), (2.5, 2.0)), 0.01, 3000),
    Plant("stirred tank, Arrhenius", "chemistry", "c T", ("1.0 - c", "0.6*(1 - T)"), {"c": "-c*exp(3 - 3/T)", "T": "0.8*c*exp(3 - 3/T)"}, ((0.9, 0.7), (0.2, 1.4)), 0.005, 1600, inside=False),
    Plant("Michaelis-Menten washout", "chemistry", "s", ("0.5*(u - s)",), {"s": "-1.1*s/(0.6 + s)"}, ((2.0,),), 0.02, 4000, wave="flow", inside=False),
    Plant("autocatalysis", "chemistry", "a b", ("0.05 - 0.02*a", "0.02 - 0.1*b"), {"a": "-a*b**2", "b": "a*b**2"}, ((1.0, 0.3), (0.4, 0.9)), 0.05, 1500),
    Plant("Oregonator, scaled", "chemistry", "x y z", ("3*(x + y - x*y)", "(-y - x*y + z)/1.5", "0.6*(x - z)"), {"x": "-0.9*x**2"}, ((0.6, 1.2, 0.8), (1.5, 0.3, 1.0)), 0.005, 2500),
    Plant("Robertson, mild", "chemistry", "a b c", ("-0.4*a + 2*b*c", "0.4*a - 2*b*c", "0"), {"b": "-3*b**2", "c": "3*b**2"}, ((1.0, 0.0, 0.0), (0.5, 0.4, 0.1)), 0.01, 1500),
    # biology and medicine
    Plant("Lotka-Volterra", "biology", "n p", ("1.1*n", "-0.4*p"), {"n": "-0.4*n*p", "p": "0.1*n*p"}, ((10.0, 5.0),), 0.02, 2500),
    Plant("predator, Holling", "biology", "n p", ("n*(1 - n/6)", "-0.5*p"), {"n": "-1.2*n*p/(1 + n)", "p": "0.8*n*p/(1 + n)"}, ((3.0, 1.0), (1.0, 2.5)), 0.02, 2500, inside=False),
    Plant("logistic growth, Allee", "biology", "n", ("0.9*n",), {"n": "-0.6*n**2 + 0.05*n**3"}, ((0.05,), (9.5,), (3.0,)), 0.01, 900),
    Plant("SIR epidemic", "biology", "s i", ("0", "-0.4*i"), {"s": "-1.6*s*i", "i": "1.6*s*i"}, ((0.99, 0.01), (0.6, 0.3)), 0.02, 1200),
    Plant("toggle switch", "biology", "a b", ("-a", "-b"), {"a": "2.5/(1 + b**2)", "b": "2.5/(1 + a**2)"}, ((0.1, 2.0), (2.2, 0.3), (1.0, 1.2), (0.2, 0.1)), 0.01, 700, inside=False),
    Plant("repressilator", "biology", "a b c", ("-a", "-b", "-c"), {"a": "8/(1 + c**3)", "b": "8/(1 + a**3)", "c": "8/(1 + b**3)"}, ((1.0, 1.5, 2.2),), 0.01, 4000, inside=False),
    Plant("glucose minimal model", "biology", "g x", ("0.8*(1 - g)", "-0.5*x + 0.4*u"), {"g": "-1.1*g*x"}, ((1.6, 0.0),), 0.02, 4000, wave="flow"),
    Plant("tumour and immune cells", "biology", "t e", ("0.9*t*(1 - 0.3*t)", "0.2 - 0.4*e"), {"t": "-0.8*t*e", "e": "0.7*e*t/(0.8 + t)"}, ((0.4, 0.3), (2.5, 0.8)), 0.02, 2000, inside=False),
    Plant("heart pacemaker", "biology", "x y", ("y", "-0.8*x"), {"y": "-1.1*(x - 0.8)*(x + 1.2)*y"}, ((0.2, 0.1), (1.5, -1.0)), 0.01, 3000),
    # thermal, fluid, process
    Plant("cooling by radiation", "process", "T", ("0.3*(1 - T)",), {"T": "-0.08*T**4"}, ((3.2,), (0.4,), (1.9,)), 0.005, 1200, inside=False),
    Plant("tank with an outlet", "process", "h", ("0.7*u",), {"h": "-0.6*sqrt(abs(h))"}, ((1.5,),), 0.02, 5000, wave="flow", inside=False),
    Plant("two tanks", "process", "a b", ("0.6*u - 0.5*sqrt(abs(a))", "0.5*sqrt(abs(a))"), {"b": "-0.6*sqrt(abs(b))"}, ((1.2, 1.6),), 0.02, 5000, wave="flow", inside=False),
    Plant("heat exchanger", "process", "a b", ("0.5*(u - a)", "-0.3*b"), {"a": "-0.7*(a - b)", "b": "0.7*(a - b)"}, ((1.0, 0.2),), 0.02, 4000, wave="flow"),
    Plant("pump with cavitation", "process", "q", ("2*u - 0.3*q",), {"q": "-1.1*exp(-3*(q - 2.5)**2)"}, ((1.0,),), 0.01, 5000, wave="flow", inside=False),
    # climate and ecology
    Plant("ice albedo", "climate", "T", ("1.2 - 0.9*T",), {"T": "0.9*tanh(4*(T - 1.6))"}, ((0.2,), (2.9,), (1.65,), (1.55,)), 0.01, 700, inside=False),
    Plant("recharge oscillator", "climate", "T h", ("0.1*T + 0.7*h", "-0.7*T - 0.2*h"), {"T": "-0.35*T**3"}, ((1.0, 0.3), (-0.3, 1.2)), 0.02, 3000),
    Plant("spruce budworm", "ecology", "n", ("0.6*n*(1 - n/8)",), {"n": "-1.1*n**2/(1 + n**2)"}, ((7.8,), (0.3,), (3.0,), (5.0,)), 0.02, 800, inside=False),
    Plant("Stommel box", "climate", "T S", ("0.8*(1.5 - T)", "0.4*(u - S)"), {"T": "-T*abs(T - S)", "S": "-S*abs(T - S)"}, ((1.0, 0.3),), 0.01, 5000, wave="flow", inside=False),
    # limit cycles and rotations
    Plant("Hopf normal form", "mathematics", "x y", ("0.8*x - 2*y", "2*x + 0.8*y"), {"x": "-x*(x**2 + y**2)", "y": "-y*(x**2 + y**2)"}, ((0.1, 0.0), (1.6, 0.5)), 0.01, 1500),
    Plant("rigid body", "mechanics", "a b c", ("-0.6*b*c", "0.9*a*c", "0"), {"c": "-0.3*a*b"}, ((1.0, 0.4, -0.6),), 0.01, 4000),
    Plant("Kuramoto pair", "mathematics", "p q", ("1.0", "1.7"), {"p": "0.8*sin(q - p)", "q": "0.8*sin(p - q)"}, ((0.0, 1.0),), 0.01, 3000, inside=False),
    Plant("complete oscillator", "mechanics", "x v", ("v", "-4*x - 0.3*v"), {}, ((1.5, 0.0), (0.4, -1.0)), 0.01, 2000),
    # chaos
    Plant("Lorenz", "climate", "x y z", ("10*(y - x)", "28*x - y - x*z", "x*y"), {"z": "-2.6667*z"}, ((-8.0, 7.0, 27.0),), 0.002, 10000, True),
    Plant("Lorenz, coarse", "climate", "x y z", ("10*(y - x)", "28*x - y", "x*y - 2.6667*z"), {"y": "-x*z"}, ((-8.0, 7.0, 27.0),), 0.01, 3000, True),
    Plant("Rossler", "chemistry", "x y z", ("-y - z", "x + 0.2*y", "0.2 - 5.7*z"), {"z": "x*z"}, ((4.0, -4.0, 0.2),), 0.02, 6000, True),
    Plant("Rossler, spiral", "chemistry", "x y z", ("-y - z", "x", "0.2 + z*(x - 5.7)"), {"y": "0.2*y"}, ((4.0, -4.0, 0.2),), 0.02, 5000, True),
    Plant("Thomas", "mathematics", "x y z", ("-0.19*x", "-0.19*y + sin(z)", "-0.19*z + sin(x)"), {"x": "sin(y)"}, ((1.0, 1.1, -0.6),), 0.05, 5000, True, inside=False, angles=()),
    Plant("Chen", "electronics", "x y z", ("35*(y - x)", "-7*x + 28*y - x*z", "-3*z"), {"z": "x*y"}, ((5.0, 5.0, 20.0),), 0.002, 6000, True),
    Plant("Halvorsen", "mathematics", "x y z", ("-1.4*x - 4*y - 4*z", "-1.4*y - 4*z - 4*x - z**2", "-1.4*z - 4*x - 4*y - x**2"), {"x": "-y**2"}, ((-5.0, -2.0, 0.0),), 0.005, 5000, True),
    Plant("Sprott B", "mathematics", "x y z", ("y*z", "x - y", "1"), {"z": "-x*y"}, ((1.0, 1.2, -0.5),), 0.02, 5000, True),
    Plant("Rabinovich-Fabrikant", "physics", "x y z", ("0.1*x + y*(z - 1)", "0.1*y + x*(3*z + 1)", "-2*z*(0.14 + x*y)"), {"x": "x**2*y", "y": "-x**3"}, ((-1.0, 0.1, 0.5),), 0.005, 6000, True),
    Plant("Henon-Heiles", "physics", "x y px py", ("px", "py", "-x - 2*x*y", "-y - x**2"), {"py": "y**2"}, ((0.0, 0.1, 0.49, 0.0),), 0.02, 6000, True),
    Plant("forced Duffing", "mechanics", "x v", ("v", "x - 0.3*v + 0.5*u"), {"v": "-x**3"}, ((1.0, 0.0),), 0.01, 6000, True, wave="tones"),
    Plant("double pendulum-like chain", "mechanics", "a b va vb", ("va", "vb", "-6*sin(a) + 2*(b - a)", "-9*sin(b) + 2*(a - b)"), {"va": "-0.25*va", "vb": "-0.2*vb*abs(vb)"}, ((2.4, -1.8, 0.0, 0.5),), 0.005, 4000, True),
    Plant("Chua, smooth", "electronics", "x y z", ("10*(y - x)", "x - y + z", "-14.8*y"), {"x": "-10*(-0.7*x + 0.05*x**3)"}, ((0.3, 0.1, -0.2),), 0.005, 6000, True),
    Plant("Hindmarsh-Rose", "biology", "x y z", ("y - x**3 - z + 3.0", "1 - 5*x**2 - y", "0.006*(4*(x + 1.6) - z)"), {"x": "3*x**2"}, ((-1.0, -4.0, 2.8),), 0.02, 8000, True),
    Plant("Arneodo", "mathematics", "x y z", ("y", "z", "5.5*x - 3.5*y - z"), {"z": "-x**3"}, ((0.2, 0.2, -0.75),), 0.01, 6000, True),
    Plant("Lorenz 84", "climate", "x y z", ("-y**2 - z**2 - 0.25*x + 2", "x*y - y - 4*x*z + 1", "4*x*y - z"), {"z": "x*z"}, ((0.7, 0.9, 1.1),), 0.01, 5000, True),
    Plant("coupled lasers", "physics", "a b c", ("-a*0.9 + 4*b", "-b - a*c", "-1.1*c + 0.8*a*b + 0.2"), {"b": "4.2*a/(1 + 0.15*a**2)"}, ((1.0, 1.0, 2.0),), 0.01, 5000, True, inside=False),
    Plant("Lorenz 96, five", "climate", "a b c d e", ("(b - d)*e - a + 8", "(c - e)*a - b + 8", "(d - a)*b - c + 8", "(e - b)*c - d + 8", "(a - c)*d"), {"e": "-e + 8"}, ((8.0, 8.1, 8.0, 7.9, 8.0),), 0.005, 4000, True),
    Plant("Moore-Spiegel", "physics", "x y z", ("y", "z", "-z - 9*y*x**2 - 5*x"), {"z": "13*y"}, ((0.5, 1.0, 0.0),), 0.005, 6000, True),
    Plant("Nose-Hoover", "physics", "x y z", ("y", "-x", "1 - y**2"), {"y": "y*z"}, ((0.0, 3.0, 0.1),), 0.01, 5000, True),
    Plant("Chua, piecewise", "electronics", "x y z", ("9*(y - x)", "x - y + z", "-14.3*y"), {"x": "-9*(-0.714*x - 0.2145*(abs(x + 1) - abs(x - 1)))"}, ((0.3, 0.1, -0.2),), 0.005, 6000, True, inside=False),
    Plant("burst oscillator", "biology", "x y z", ("y", "-x - 0.4*y", "0.05*(1 - z)"), {"y": "1.4*z*y/(1 + 3*x**2)", "z": "-0.04*x**2*z"}, ((1.0, 0.0, 1.0),), 0.02, 5000, inside=False),
)  # fmt: skip

TUNING = PLANTS[0::2]
REPORTING = PLANTS[1::2]
