# 004 · encoder layer, two heads
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


embedding = torch.tensor([[0.3373702, -0.17777722],
 [-0.3035276, -0.58801186],
 [0.3486052, 0.66034096],
 [-0.21963762, -0.37916982],
 [0.76710707, -1.192502],
 [0.6983519, -1.4097229],
 [0.17937961, 1.895148],
 [0.49544638, 0.26919857]], dtype=torch.float32)
w_q = torch.tensor([[0.500026, 0.13173823],
 [0.19335887, 0.68254095]], dtype=torch.float32)
b_q = torch.tensor([-0.3189118, 0.22397694], dtype=torch.float32)
w_k = torch.tensor([[-0.3146032, 0.5053336],
 [0.5647354, -0.65193284]], dtype=torch.float32)
b_k = torch.tensor([0.60361874, 0.33765367], dtype=torch.float32)
w_v = torch.tensor([[0.30813384, 0.2910981],
 [0.5878172, -0.09336606]], dtype=torch.float32)
b_v = torch.tensor([-0.5979991, -0.20290352], dtype=torch.float32)
w_o = torch.tensor([[-0.49799737, 0.046744477],
 [-0.13202213, -0.37928143]], dtype=torch.float32)
b_o = torch.tensor([-0.06429114, 0.6699156], dtype=torch.float32)
norm_after_attention = torch.tensor([1, 1], dtype=torch.float32)
norm_after_attention_bias = torch.tensor([0, 0], dtype=torch.float32)
ffn_in = torch.tensor([[-0.055773344, 0.022450699],
 [-0.11028077, 0.11116214],
 [0.63004106, 0.43239075],
 [0.2509957, 0.15366176]], dtype=torch.float32)
ffn_in_bias = torch.tensor([0.16673073, 0.27317885, -0.091374785, -0.6571912], dtype=torch.float32)
ffn_out = torch.tensor([[-0.30920595, 0.42679286, 0.029886723, -0.40503675],
 [0.07886374, 0.41313583, -0.47249985, -0.33661968]], dtype=torch.float32)
ffn_out_bias = torch.tensor([-0.1991328, 0.020068765], dtype=torch.float32)
norm_after_ffn = torch.tensor([1, 1], dtype=torch.float32)
norm_after_ffn_bias = torch.tensor([0, 0], dtype=torch.float32)

x = embedding[torch.tensor([[0, 6, 2, 7, 5, 4, 2, 3]])]
# encoder attention, layer 0
q = heads(F.linear(x, w_q, b_q), 2)
k = heads(F.linear(x, w_k, b_k), 2)
v = heads(F.linear(x, w_v, b_v), 2)
mask = torch.ones(8, 8, dtype=torch.bool)
a = attend("encoder layer 0", q, k, v, 1, mask, float("-inf"))
a = a.transpose(1, 2).flatten(2)
a = F.linear(a, w_o, b_o)
x = F.layer_norm(x + a, (2,), norm_after_attention, norm_after_attention_bias, 1e-05)
f = F.relu(F.linear(x, ffn_in, ffn_in_bias))
f = F.linear(f, ffn_out, ffn_out_bias)
x = F.layer_norm(x + f, (2,), norm_after_ffn, norm_after_ffn_bias, 1e-05)
print(f"output\n{x}")
