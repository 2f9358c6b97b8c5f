"""PyTorch without a GPU: a small network of two layers is trained, and an LSTM reads a text of numbers. tensors.py"""
import time

import torch

torch.manual_seed(1)
inputs, wanted = torch.rand(256, 128), torch.rand(256, 1)
network = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
descent = torch.optim.SGD(network.parameters(), lr=0.01)
reader = torch.nn.LSTM(64, 128, num_layers=2)
text = torch.rand(64, 16, 64)
begin = time.monotonic()
for turn in range(400):
    descent.zero_grad()
    loss = ((network(inputs) - wanted) ** 2).mean()
    loss.backward()
    descent.step()
with torch.no_grad():
    for turn in range(60):
        read, _ = reader(text)
print(f"seconds {time.monotonic() - begin:.4f}")
print(f"loss {loss.item():.3f} read {read.abs().sum().item():.0f}")
