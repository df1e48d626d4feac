import torch
import torch.nn.functional as F


def fgsm(model, x, y, epsilon):
    """One step of size epsilon along the sign of the gradient (Goodfellow et al., 2015)."""
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    (grad,) = torch.autograd.grad(loss, x)
    return (x + epsilon * grad.sign()).clamp(0, 1).detach()


def pgd(model, x, y, epsilon, steps=5):
    """Several smaller steps from a random start inside the epsilon ball (Madry et al., 2018)."""
    step_size = 2.5 * epsilon / steps
    x_adv = (x + torch.empty_like(x).uniform_(-epsilon, epsilon)).clamp(0, 1)
    for _ in range(steps):
        x_adv.requires_grad_(True)
        loss = F.cross_entropy(model(x_adv), y)
        (grad,) = torch.autograd.grad(loss, x_adv)
        x_adv = x_adv.detach() + step_size * grad.sign()
        x_adv = torch.min(torch.max(x_adv, x - epsilon), x + epsilon).clamp(0, 1)
    return x_adv.detach()


ATTACKS = {"fgsm": fgsm, "pgd": pgd}
