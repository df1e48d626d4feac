// Logistic regression by stochastic gradient descent on made data, seeded by the system as a C++ program often is.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

int main() {
    const int rows = 400, columns = 5, epochs = 6;
    std::mt19937 fixed(1), random(std::random_device{}());
    std::normal_distribution<double> normal;
    std::vector<std::vector<double>> inputs(rows, std::vector<double>(columns));
    std::vector<int> targets(rows);
    for (int row = 0; row < rows; ++row) {
        double sum = 0;
        for (double &input : inputs[row]) sum += input = normal(fixed);
        targets[row] = sum + normal(fixed) > 0;
    }
    std::vector<double> weights(columns);
    for (double &weight : weights) weight = normal(random);
    std::uniform_int_distribution<int> any(0, rows - 1);
    std::printf("training on %d rows, learning rate %.2f\n", rows, 0.1);
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        double loss = 0;
        int right = 0;
        for (int step = 0; step < rows; ++step) {
            const int row = any(random);
            double score = 0;
            for (int column = 0; column < columns; ++column) score += weights[column] * inputs[row][column];
            const double probability = 1 / (1 + std::exp(-score));
            loss -= std::log(targets[row] ? probability : 1 - probability);
            right += (probability > 0.5) == (targets[row] == 1);
            for (int column = 0; column < columns; ++column)
                weights[column] -= 0.1 * (probability - targets[row]) * inputs[row][column];
        }
        std::printf("epoch %d/%d  loss=%.4f  accuracy=%.1f%%\n", epoch, epochs, loss / rows, 100.0 * right / rows);
        std::fprintf(stderr, "[%d] norm of the gradient step: %.3e\n", epoch, std::fabs(weights[0]) * 0.1);
    }
    std::FILE *table = std::fopen("weights.csv", "w");
    std::fprintf(table, "column,weight\n");
    for (int column = 0; column < columns; ++column) std::fprintf(table, "%d,%.6f\n", column, weights[column]);
    return std::fclose(table);
}
