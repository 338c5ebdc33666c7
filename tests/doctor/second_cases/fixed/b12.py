import torch
import torch.nn as nn


class BilinearAttn(nn.Module):

    def __init__(self, x_size, y_size):
        super().__init__()
        self.linear = nn.Linear(y_size, x_size)

    def forward(self, x, y, x_mask):
        """
        x: batch * len * hdim1
        y: batch * hdim2
        x_mask: batch * len (1 for real, 0 for padding)
        """
        Wy = self.linear(y)
        xWy = x.bmm(Wy.unsqueeze(2)).squeeze(2)
        xWy = xWy.masked_fill(x_mask == 0, torch.finfo(xWy.dtype).min)
        alpha = torch.softmax(xWy, dim=1)
        return alpha.unsqueeze(1).bmm(x).squeeze(1), alpha
