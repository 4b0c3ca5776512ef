# 003 · one head in numpy
# V[2,1] typed
import torch
from torch.nn import functional as F

torch.set_printoptions(precision=6, sci_mode=False, linewidth=160)


def heads(x, count):  # [batch, tokens, count * d] to [batch, count, tokens, d]
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attend(name, q, k, v, scale, mask, fill, bias=0.0):  # a row without any visible key has no weights
    scores = (q @ k.transpose(-2, -1) * scale + bias).masked_fill(~mask, fill)
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    print(f"{name}: Q\n{q}\nK\n{k}\nV\n{v}\nweights\n{weights}\n")
    return weights @ v


q = torch.tensor([[-0.17726915, -0.60715103, 0.27040046, 1.3226299],
 [-0.354665, -1.0019009, 0.49971724, 0.52404004],
 [-0.96664613, -0.9288024, 0.31031606, 1.4766738],
 [2.588013, 0.9125295, 0.47811753, -1.9054275],
 [0.39023975, 1.8912184, -0.77398807, 0.55986816],
 [-0.11781247, 0.66704404, 0.7403089, 0.80908704]], dtype=torch.float32).reshape(1, 1, 6, 4)
k = torch.tensor([[1.3108882, 0.03025595, 0.02526448, -0.6110974],
 [0.03582415, 0.5326392, -0.34596446, 0.6746453],
 [-0.21136, 1.3858176, -2.446682, -0.46287516],
 [-0.4030099, -0.90153944, -0.7286334, -1.6906986],
 [-0.05841235, 0.8853314, 0.23723818, 1.6445702],
 [0.90458894, -0.7112004, -0.7782639, 1.2807014]], dtype=torch.float32).reshape(1, 1, 6, 4)
v = torch.tensor([[0.76514643, -1.6986834, -1.5965627, -0.7691408],
 [-0.81664306, -0.10608875, -1.3893331, -2.5231411],
 [0.20812634, 5, -1.6893514, -0.07477778],
 [1.0047356, 0.71972716, -0.40171647, -0.9022552],
 [-1.03943, -2.32278, 1.6836656, 0.5350131],
 [1.4957256, 0.4656622, -0.2650645, 1.3182504]], dtype=torch.float32).reshape(1, 1, 6, 4)

# encoder attention, layer 0
mask = torch.tensor([[1, 0, 0, 0, 0, 0],
 [1, 1, 0, 0, 0, 0],
 [1, 1, 1, 0, 0, 0],
 [1, 1, 1, 1, 0, 0],
 [1, 1, 1, 1, 1, 0],
 [1, 1, 1, 1, 1, 1]]) == 1
a = attend("encoder layer 0", q, k, v, 1, mask, float("-inf"))
a = a.transpose(1, 2).flatten(2)
x = a
print(f"output\n{x}")
