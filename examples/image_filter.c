/* SPDX-License-Identifier: MIT */
/* Filters a picture: convolution, bias, batch normalisation and clamp as one kernel over the pixels
 * as they lie in the file (channels last, one group per colour).
 *
 *   image_filter [sharpen|edges|emboss|blur [input.{png,jpg,ppm} [output.png]]]
 *
 * Without arguments it draws a picture, filters it in every way and writes the results beside it.
 */
#include <string.h>

#include "example.h"

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>

/* out = clamp(contrast * (conv(in, kernel) + bias - 1/2) + 1/2), the outer part written as the
 * batch normalisation it is: mean 1/2, variance 1/4, scale contrast/2, bias 1/2. */
typedef struct {
  const char* name;
  float kernel[9];
  float bias, contrast;
} Filter;
static const Filter kFilters[] = {
    {"sharpen", {0, -1, 0, -1, 5, -1, 0, -1, 0}, 0.0f, 1.1f},
    {"edges", {-1, -1, -1, -1, 8, -1, -1, -1, -1}, 0.1f, 1.6f},
    {"emboss", {-2, -1, 0, -1, 0, 1, 0, 1, 2}, 0.5f, 1.0f},
    {"blur",
     {1 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 4 / 16.f, 2 / 16.f, 1 / 16.f, 2 / 16.f, 1 / 16.f},
     0.0f,
     1.0f},
};

typedef struct {
  int width, height;
  unsigned char* pixels; /* RGB, rows from the top */
} Image;

/* What the kernel should give for one colour of one pixel. */
static double by_hand(const float* in, const Image* image, const Filter* f, int y, int x, int c) {
  double sum = f->bias;
  for (int r = 0; r < 3; ++r)
    for (int s = 0; s < 3; ++s) {
      const int row = y + r - 1, col = x + s - 1;
      if (row < 0 || row >= image->height || col < 0 || col >= image->width) continue;
      sum += (double)in[(row * image->width + col) * 3 + c] * f->kernel[r * 3 + s];
    }
  return fmin(1, fmax(0, f->contrast * (sum - 0.5) + 0.5));
}

static void apply(fuseplanHandle_t handle, const Filter* filter, const Image* image,
                  unsigned char* result) {
  char text[512];
  snprintf(text, sizeof text,
           "f32:1x3x%dx%d:nhwc;conv(f32:3x1x3x3,pad=1x1,groups=3);bias(f32:1x3x1x1);"
           "norm(spatial,f32:1x3x1x1);activation(clamp)",
           image->height, image->width);
  fuseplanPlan_t plan;
  fuseplanTensorDescriptor_t desc;
  fuseplanOperatorArgs_t args;
  fuseplanOp_t op[4];
  CHECK(fuseplanCreatePlanFromString(&plan, text));
  for (int i = 0; i < 4; ++i) CHECK(fuseplanPlanGetOp(plan, i, &op[i]));
  CHECK(fuseplanCreateTensorDescriptor(&desc));
  CHECK(fuseplanPlanGetOutputDescriptor(plan, desc));
  CHECK(fuseplanCompilePlan(handle, plan));

  const size_t count = (size_t)image->width * (size_t)image->height * 3;
  float *in = floats(count), *out = floats(count), w[27], bias[3], scale[3], half[3], quarter[3];
  for (size_t i = 0; i < count; ++i) in[i] = (float)image->pixels[i] / 255.0f;
  for (int c = 0; c < 3; ++c) {
    memcpy(w + 9 * c, filter->kernel, sizeof filter->kernel);
    bias[c] = filter->bias;
    scale[c] = filter->contrast / 2;
    half[c] = 0.5f;
    quarter[c] = 0.25f;
  }
  CHECK(fuseplanCreateOperatorArgs(&args));
  CHECK(fuseplanSetOpArgsConvForward(args, op[0], NULL, NULL, w));
  CHECK(fuseplanSetOpArgsBiasForward(args, op[1], NULL, NULL, bias));
  CHECK(
      fuseplanSetOpArgsBatchNormInference(args, op[2], NULL, NULL, scale, half, half, quarter, 0));
  CHECK(fuseplanSetOpArgsActivForward(args, op[3], NULL, NULL, 0, 1, 0));
  CHECK(fuseplanExecutePlan(handle, plan, desc, in, desc, out, args));

  for (int y = 0; y < image->height; y += 17)
    for (int x = 0; x < image->width; x += 13)
      expect_near(out[(y * image->width + x) * 3 + 1], by_hand(in, image, filter, y, x, 1),
                  filter->name);
  for (size_t i = 0; i < count; ++i) result[i] = (unsigned char)(out[i] * 255.0f + 0.5f);
  free(out);
  free(in);
  CHECK(fuseplanDestroyOperatorArgs(args));
  CHECK(fuseplanDestroyTensorDescriptor(desc));
  CHECK(fuseplanDestroyPlan(plan));
}

static void write_picture(const char* file, const Image* image, const unsigned char* pixels) {
  if (!stbi_write_png(file, image->width, image->height, 3, pixels, image->width * 3)) {
    fprintf(stderr, "cannot write %s\n", file);
    exit(EXIT_FAILURE);
  }
  printf("wrote %s\n", file);
}

/* A landscape: sky, sun, hills and a striped field, with edges of every direction. */
static void draw(const char* file) {
  const Image image = {480, 320, malloc(480 * 320 * 3)};
  if (image.pixels == NULL) exit(EXIT_FAILURE);
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      unsigned char* p = image.pixels + (y * image.width + x) * 3;
      const double hill = 190 + 35 * sin(x / 60.0) + 15 * sin(x / 23.0);
      const int sun = (x - 360) * (x - 360) + (y - 80) * (y - 80) < 45 * 45;
      const int stripe = (x + 2 * y) / 14 % 2;
      p[0] = (unsigned char)(y > hill ? 70 + 40 * stripe : sun ? 250 : 90 + y / 3);
      p[1] = (unsigned char)(y > hill ? 120 + 50 * stripe : sun ? 220 : 150 + y / 4);
      p[2] = (unsigned char)(y > hill ? 50 : sun ? 90 : 230 - y / 8);
    }
  write_picture(file, &image, image.pixels);
  free(image.pixels);
}

int main(int argc, char** argv) {
  if (argc > 4 || (argc > 1 && argv[1][0] == '-')) {
    fprintf(
        stderr,
        "usage: %s [sharpen|edges|emboss|blur [input.{png,jpg,ppm} [output.png]]] (on the CPU)\n",
        argv[0]);
    return EXIT_FAILURE;
  }
  const char* wanted = argc > 1 ? argv[1] : NULL;
  const char* input = argc > 2 ? argv[2] : "picture.png";
  if (argc <= 2) draw(input);
  Image image;
  int channels;
  image.pixels = stbi_load(input, &image.width, &image.height, &channels, 3);
  if (image.pixels == NULL) {
    fprintf(stderr, "cannot read %s: %s\n", input, stbi_failure_reason());
    return EXIT_FAILURE;
  }
  unsigned char* result = malloc((size_t)image.width * (size_t)image.height * 3);
  if (result == NULL) return EXIT_FAILURE;
  fuseplanHandle_t handle;
  CHECK(fuseplanCreate(&handle));
  int found = 0;
  for (size_t i = 0; i < sizeof kFilters / sizeof kFilters[0]; ++i) {
    if (wanted != NULL && strcmp(wanted, kFilters[i].name) != 0) continue;
    char name[64];
    snprintf(name, sizeof name, "picture_%s.png", kFilters[i].name);
    apply(handle, &kFilters[i], &image, result);
    write_picture(argc > 3 ? argv[3] : name, &image, result);
    found = 1;
  }
  CHECK(fuseplanDestroy(handle));
  free(result);
  stbi_image_free(image.pixels);
  if (!found) fprintf(stderr, "no filter %s: sharpen, edges, emboss or blur\n", wanted);
  return found ? EXIT_SUCCESS : EXIT_FAILURE;
}
